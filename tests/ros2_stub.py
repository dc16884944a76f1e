"""A stand-in for what the ROS 2 plugin is compiled against: the interface's shape, with no code of it.

The names and arguments are those of the released interface (inverse_dynamics_solver 2.0); Eigen's vectors and matrices
are as little as the plugin touches.
"""

from __future__ import annotations

EIGEN = """
#pragma once
#include <cstddef>
#include <vector>
namespace Eigen {
using Index = std::ptrdiff_t;
class VectorXd {
 public:
  explicit VectorXd(Index size) : values_(static_cast<std::size_t>(size)) {}
  Index size() const { return static_cast<Index>(values_.size()); }
  double *data() { return values_.data(); }
  const double *data() const { return values_.data(); }
  double &operator[](Index i) { return values_[static_cast<std::size_t>(i)]; }
 private:
  std::vector<double> values_;
};
class MatrixXd {
 public:
  MatrixXd(Index rows, Index columns) : rows_(rows), values_(static_cast<std::size_t>(rows * columns)) {}
  double *data() { return values_.data(); }
  double operator()(Index i, Index j) const { return values_[static_cast<std::size_t>(i + rows_ * j)]; }
 private:
  Index rows_;
  std::vector<double> values_;
};
}
"""

INTERFACE = """
#pragma once
#include <memory>
#include <string>
#include <Eigen/Core>
namespace rclcpp { namespace node_interfaces {
struct NodeParametersInterface { using ConstSharedPtr = std::shared_ptr<const NodeParametersInterface>; };
} }
namespace inverse_dynamics_solver {
class InverseDynamicsSolver {
 public:
  virtual ~InverseDynamicsSolver() {}
  virtual void initialize(rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr = nullptr,
                          const std::string & = "", const std::string & = "") = 0;
  virtual Eigen::MatrixXd getInertiaMatrix(const Eigen::VectorXd &) const = 0;
  virtual Eigen::VectorXd getCoriolisVector(const Eigen::VectorXd &, const Eigen::VectorXd &) const = 0;
  virtual Eigen::VectorXd getGravityVector(const Eigen::VectorXd &) const = 0;
  virtual Eigen::VectorXd getFrictionVector(const Eigen::VectorXd &) const = 0;
  virtual Eigen::VectorXd getTorques(const Eigen::VectorXd &, const Eigen::VectorXd &,
                                     const Eigen::VectorXd &) const = 0;
};
}
"""

MACROS = """
#pragma once
#define PLUGINLIB_EXPORT_CLASS(Derived, Base) \\
  static_assert(std::is_base_of<Base, Derived>::value, "no plugin of the interface"); \\
  Base *made_by_pluginlib(); \\
  Base *made_by_pluginlib() { return new Derived; }
#include <type_traits>
"""

MAIN = """
#include <cstdio>
#include <inverse_dynamics_solver/inverse_dynamics_solver.hpp>
inverse_dynamics_solver::InverseDynamicsSolver *made_by_pluginlib();
int main() {
  std::unique_ptr<inverse_dynamics_solver::InverseDynamicsSolver> solver(made_by_pluginlib());
  solver->initialize();
  const int n = SIZE;
  Eigen::VectorXd q(n), v(n), a(n), wrong(n + 1);
  for (int i = 0; i < n; ++i) { q[i] = 0.3 + 0.1 * i; v[i] = 0.5 - 0.2 * i; a[i] = 1.0 + 0.3 * i; }
  Eigen::MatrixXd M = solver->getInertiaMatrix(q);
  Eigen::VectorXd c = solver->getCoriolisVector(q, v), g = solver->getGravityVector(q);
  Eigen::VectorXd f = solver->getFrictionVector(v), tau = solver->getTorques(q, v, a);
  for (int i = 0; i < n; ++i) {
    double sum = c[i] + g[i];
    for (int j = 0; j < n; ++j) sum += M(i, j) * a[j];
    std::printf("%.17g %.17g %.17g\\n", tau[i], sum, f[i]);
  }
  try { solver->getGravityVector(wrong); } catch (const std::exception &) { return 0; }
  return 1;
}
"""

AMENT = """
# As those of ament_cmake: without a keyword, and only with what packages export in its way.
function(ament_target_dependencies target)
  foreach(name ${ARGN})
    if(NOT ${name}_FOUND OR NOT ${name}_INCLUDE_DIRS)
      message(FATAL_ERROR "${name} exports nothing for ament_target_dependencies")
    endif()
    target_include_directories(${target} PUBLIC ${${name}_INCLUDE_DIRS})
  endforeach()
  target_link_libraries(${target})
endfunction()
function(pluginlib_export_plugin_description_file category file)
  install(FILES ${file} DESTINATION share/${PROJECT_NAME})
endfunction()
function(ament_export_dependencies)
endfunction()
function(ament_export_targets name)
  install(EXPORT ${name} DESTINATION share/${PROJECT_NAME}/cmake)
endfunction()
function(ament_package)
endfunction()
set(BUILD_TESTING ON)
"""

HEADERS = 'get_filename_component(STUB "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)\nset(NAME_INCLUDE_DIRS "${STUB}")\n'

TARGET = """
get_filename_component(STUB "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
add_library(Eigen3::Eigen INTERFACE IMPORTED)
set_target_properties(Eigen3::Eigen PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${STUB}")
"""

PACKAGES = {
    "cmake/ament_cmakeConfig.cmake": AMENT,
    "cmake/Eigen3Config.cmake": TARGET,
    **{
        f"cmake/{name}Config.cmake": HEADERS.replace("NAME", name)
        for name in ("inverse_dynamics_solver", "pluginlib", "rclcpp")
    },
}
"""Stand-ins for the packages that the build files look for; Eigen has a target alone, as it has on Ubuntu."""

FILES = {
    "Eigen/Core": EIGEN,
    "inverse_dynamics_solver/inverse_dynamics_solver.hpp": INTERFACE,
    "pluginlib/class_list_macros.hpp": MACROS,
    "main.cpp": MAIN,
    **PACKAGES,
}
"""Texts by path, of a folder that headers are looked for in."""
